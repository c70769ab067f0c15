/** The part of lit-html that the page uses; the library itself is lit-html.js, its licence lit-html.LICENSE.txt. */
export interface TemplateResult {
  _$litType$: number;
  strings: TemplateStringsArray;
  values: unknown[];
}
export declare const html: (strings: TemplateStringsArray, ...values: unknown[]) => TemplateResult;
export declare const svg: (strings: TemplateStringsArray, ...values: unknown[]) => TemplateResult;
export declare const nothing: unique symbol;
export declare const render: (value: unknown, container: HTMLElement | DocumentFragment) => unknown;
