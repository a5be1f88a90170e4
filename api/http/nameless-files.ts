import type { Busboy } from 'busboy';

type HeaderParser = { cb(header: Record<string, string[]>): void };

/**
 * Makes busboy treat an image or video part without a file name as a file; RFC 7578 (4.2) does not require the name.
 * Busboy treats such a part as text unless its type is `application/octet-stream`, and has no option for it, so this
 * sets the type before busboy reads the header. The client's type has no other use.
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
