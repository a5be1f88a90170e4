import { Parser, type Handler } from 'htmlparser2';

/** More than real pages have. The parser's time is quadratic to the depth: half a megabyte of `<b>` takes 35 s. */
const maxDepth = 256;

/**
 * Reads untrusted HTML in time linear to its length, up to the first tag that is too deep. Names are in lower case, and
 * entities are decoded.
 */
export const readHtml = (html: string, handlers: Handlers): void => htmlReader(handlers).end(html);

type Handlers = Partial<Pick<Handler, 'onopentag' | 'onclosetag' | 'ontext'>>;

/** As `readHtml`, for a text that comes in pieces. */
export function htmlReader({ onclosetag, ...others }: Handlers): Pick<Parser, 'write' | 'end'> {
  let depth = 0;
  const parser = new Parser({
    ...others,
    onopentagname: () => {
      depth += 1;
      if (depth > maxDepth) {
        parser.pause();
      }
    },
    onclosetag: (name, isImplied) => {
      depth -= 1;
      onclosetag?.(name, isImplied);
    },
  });
  return parser;
}
