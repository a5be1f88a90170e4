import { Parser, type Handler } from 'htmlparser2';
import { inTurn, type Reader } from './in-turn.ts';

/** More than real pages have. The parser's time is quadratic to the depth: half a megabyte of `<b>` takes 35 s. */
const maxDepth = 256;

/** In UTF-16 units. */
const pieceLength = 32 * 1024;

/**
 * Reads untrusted HTML in time linear to its length, up to the first tag that is too deep. Names are in lower case, and
 * entities are decoded.
 */
export async function readHtml(html: string, handlers: Handlers, reader: Reader): Promise<void> {
  const { write, end } = htmlReader(handlers, reader);
  await write(html);
  end();
}

type Handlers = Partial<Pick<Handler, 'onopentag' | 'onclosetag' | 'ontext'>>;

/** As `readHtml`, for a text that comes in parts. */
export function htmlReader({ onclosetag, ...others }: Handlers, reader: Reader) {
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
  return {
    async write(html: string): Promise<void> {
      for (let at = 0; at < html.length; at += pieceLength) {
        await inTurn(reader, () => parser.write(html.slice(at, at + pieceLength)));
      }
    },
    end: () => parser.end(),
  };
}
