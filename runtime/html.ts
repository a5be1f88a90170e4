/** Safe markup. Only `html` creates it. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Value = string | number | Html | readonly Html[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A template that escapes every value, unless it is markup already. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(markupOf)));
}

function markupOf(value: Value): string {
  if (value instanceof Html) {
    return value.markup;
  }
  if (typeof value === 'string' || typeof value === 'number') {
    return String(value).replace(/[&<>"']/gv, (character) => entities[character] ?? character);
  }
  return value.map((part) => part.markup).join('');
}
