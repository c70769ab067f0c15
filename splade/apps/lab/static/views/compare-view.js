import { View } from "../core/element.js";
customElements.define("compare-view", class extends View {});
