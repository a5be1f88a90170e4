import { PassThrough, Readable } from 'node:stream';
import test from 'ava';
import { cardMaker } from '../../../networks/link-card/card-maker.ts';
import type { Connection } from '../../../networks/network.ts';
import { shrinkImage } from '../../../runtime/media/shrink-image.ts';
import { picture } from '../../support/media-files.ts';

test('a picture of a link card that never ends delays no picture of another workspace', async (t) => {
  const ended = new AbortController();
  t.teardown(() => ended.abort());
  const { signal } = ended;
  const page = Buffer.from('<html><head><meta property="og:image" content="/p"></head></html>');
  const begun = Promise.withResolvers<void>();
  const download = async ({ url }: { readonly url: string }) => {
    const isPage = !url.endsWith('/p');
    if (!isPage) {
      begun.resolve();
    }

    const body = isPage ? Readable.from([page]) : new PassThrough({ signal });
    return { url, status: 200, headers: {}, body };
  };
  const connection = { downloads: { download }, workspaceId: 'one', signal };
  const bounds = { maxBytes: 100_000, maxSide: 1000 };
  const card = cardMaker(connection as unknown as Connection, bounds)('https://a.example/');
  await begun.promise;

  const small = await picture('png', { width: 30, height: 20 });
  const photo = shrinkImage(Readable.from([small]), { ...bounds, workspaceId: 'another' }, signal);
  t.like(await Promise.race([card, photo]), { width: 30, height: 20 });
});
