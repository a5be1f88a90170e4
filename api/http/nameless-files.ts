import type { Busboy } from 'busboy';

type HeaderParser = { cb(header: Record<string, string[]>): void };

/**
 * Makes busboy take a part with an image or a video for a file also where it has no file name, which RFC 7578 (4.2) does
 * not require. Busboy takes it for text, unless its type is `application/octet-stream`, and has no option for that; so
 * such a part gets this type before busboy looks at it. The type that a client names is used for nothing else.
 */
export function takeNamelessFiles(parser: Busboy): void {
  let current: HeaderParser | null = null;
  const seen = new WeakSet<HeaderParser>();
  Object.defineProperty(parser, '_hparser', {
    get: () => current,
    set: (next: HeaderParser | null) => {
      current = next;
      if (next && !seen.has(next)) {
        seen.add(next);
        const read = next.cb;
        next.cb = (header) => {
          if (/^ *(?:image|video)\//iv.test(header['content-type']?.[0] ?? '')) {
            header['content-type'] = ['application/octet-stream'];
          }

          read.call(next, header);
        };
      }
    },
  });
}
