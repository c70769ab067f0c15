import { View } from "../core/element.js";
customElements.define("tagger-view", class extends View {});
