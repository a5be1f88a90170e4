import { Parser, type Handler } from 'htmlparser2';

/** More than real pages have. The parser's time is quadratic to the depth: half a megabyte of `<b>` takes 35 s. */
const maxDepth = 256;

type Handlers = Partial<Pick<Handler, 'onopentag' | 'onclosetag' | 'ontext'>>;

/**
 * Reads untrusted HTML in time linear to its length, up to the first tag that is too deep. Names are in lower case, and
 * entities are decoded.
 */
export function readHtml(html: string, { onclosetag, ...others }: Handlers): void {
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
  parser.end(html);
}
