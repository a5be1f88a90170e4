import { Tokenizer } from 'htmlparser2';

export type HtmlPieces = {
  /** @param attributes By name in lower case; the first of equal names wins. */
  readonly onTag: (name: string, attributes: ReadonlyMap<string, string>) => void;
  readonly onEndTag: (name: string) => void;
  /** Any piece of text, with its entities decoded. */
  readonly onText: (text: string) => void;
};

const nothing = (): void => undefined;

/** Elements in which `title` and `style` are ordinary tags, and tags may close themselves. */
const foreignElements: ReadonlySet<string> = new Set(['svg', 'math']);

/**
 * Reads untrusted HTML as a sequence of tags and texts, in time linear to its length.
 *
 * It does not match end tags to tags. The library's `Parser` does, in time quadratic to the depth, because it shifts an
 * array of the open tags: two megabytes of `<b>` take 49 s.
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
        foreignDepth += foreignElements.has(name) ? 1 : 0;
        atEndOfTag();
      },
      onselfclosingtag: atEndOfTag,
      onclosetag: (start, end) => {
        const closed = html.slice(start, end).toLowerCase();
        foreignDepth -= foreignElements.has(closed) && foreignDepth > 0 ? 1 : 0;
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
