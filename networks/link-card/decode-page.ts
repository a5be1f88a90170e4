import { readHtml } from '../html-pieces.ts';

/**
 * Decodes a page. The charset is the first known one of: byte order mark, `Content-Type`, XML declaration, `meta`.
 * The default is UTF-8.
 *
 * Source: https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding
 */
export function decodePage(bytes: Buffer, contentType: string): string {
  const ascii = bytes.toString('latin1');
  const encoding =
    markOf(ascii) ??
    known(/charset\s*=\s*["']?(?<name>[\w.:\-]{1,40})/iv.exec(contentType)?.groups?.['name']) ??
    readable(
      /^<\?xml\s[^>]{0,200}?encoding\s*=\s*["'](?<name>[\w.:\-]{1,40})/v.exec(ascii)?.groups?.[
        'name'
      ],
    ) ??
    readable(metaOf(ascii)) ??
    'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

const marks = { '\xEF\xBB\xBF': 'utf-8', '\xFF\xFE': 'utf-16le', '\xFE\xFF': 'utf-16be' };

const markOf = (ascii: string): string | undefined =>
  Object.entries(marks).find(([mark]) => ascii.startsWith(mark))?.[1];

/** The decoder's name of a charset; undefined for an unknown one. */
function known(name: string | undefined): string | undefined {
  try {
    return name && new TextDecoder(name).encoding;
  } catch {
    return undefined;
  }
}

/** A page whose declaration is readable as ASCII is not in UTF-16, even if it says so. */
const readable = (name: string | undefined): string | undefined =>
  known(name)?.replace(/^utf-16.*$/v, 'utf-8');

/** The charset of the first `meta` that names a known one. */
function metaOf(ascii: string): string | undefined {
  let found: string | undefined;
  readHtml(ascii, {
    onTag: (name, attributes) => {
      if (name !== 'meta' || found !== undefined) {
        return;
      }

      const isType = attributes.get('http-equiv')?.toLowerCase() === 'content-type';
      const content = isType ? (attributes.get('content') ?? '') : '';
      const inContent = /charset\s*=\s*["']?(?<name>[\w.:\-]{1,40})/iv.exec(content);
      found = known(attributes.get('charset')?.trim() ?? inContent?.groups?.['name']);
    },
    onEndTag: () => undefined,
    onText: () => undefined,
  });
  return found;
}
