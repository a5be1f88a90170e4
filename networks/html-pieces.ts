import { Tokenizer } from 'htmlparser2';

export type HtmlPieces = {
  /** @param attributes By their names in lower case; of two of one name the first. */
  readonly onTag: (name: string, attributes: ReadonlyMap<string, string>) => void;
  readonly onEndTag: (name: string) => void;
  /** Any piece of a text, with its entities decoded. */
  readonly onText: (words: string) => void;
};

const nothing = (): void => undefined;

/** Drawings and formulas, in which a title or a style is a tag like any other, and may close itself. */
const foreign: ReadonlySet<string> = new Set(['svg', 'math']);

/**
 * Reads a stranger's HTML as a row of tags and texts, in time linear to its length.
 *
 * Which end tag belongs to which tag is not told. The library's `Parser` would tell it, and takes time quadratic to the
 * depth for that: it keeps the open tags in an array that it shifts, so that two megabytes of `<b>` take 49 s.
 */
export function readHtml(html: string, { onTag, onEndTag, onText }: HtmlPieces): void {
  let name = '';
  let attributes = new Map<string, string>();
  let attribute = '';
  let value = '';
  let foreignDepth = 0;
  const atEndOfTag = () => onTag(name, attributes);
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname: (start, end) => {
        name = html.slice(start, end).toLowerCase();
        attributes = new Map();
      },
      onattribname: (start, end) => {
        attribute = html.slice(start, end).toLowerCase();
      },
      onattribdata: (start, end) => {
        value += html.slice(start, end);
      },
      onattribentity: (codePoint) => {
        value += String.fromCodePoint(codePoint);
      },
      onattribend: () => {
        if (!attributes.has(attribute)) {
          attributes.set(attribute, value);
        }
        value = '';
      },
      onopentagend: () => {
        foreignDepth += foreign.has(name) ? 1 : 0;
        atEndOfTag();
      },
      onselfclosingtag: atEndOfTag,
      onclosetag: (start, end) => {
        const closed = html.slice(start, end).toLowerCase();
        foreignDepth -= foreign.has(closed) && foreignDepth > 0 ? 1 : 0;
        onEndTag(closed);
      },
      isInForeignContext: () => foreignDepth > 0,
      ontext: (start, end) => onText(html.slice(start, end)),
      ontextentity: (codePoint) => onText(String.fromCodePoint(codePoint)),
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onprocessinginstruction: nothing,
      onend: nothing,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
}
