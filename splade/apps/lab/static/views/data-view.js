import { View } from "../core/element.js";
customElements.define("data-view", class extends View {});
