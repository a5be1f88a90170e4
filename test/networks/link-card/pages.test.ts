import { PassThrough, Readable } from 'node:stream';
import test from 'ava';
import { cardMaker } from '../../../networks/link-card/card-maker.ts';
import { decodePage, pageFacts } from '../../../networks/link-card/page.ts';
import type { Connection } from '../../../networks/network.ts';
import { shrinkImage } from '../../../runtime/media/shrink-image.ts';
import { picture } from '../../support/media-files.ts';

const reader = { signal: new AbortController().signal };

/** `日本語の題名` in EUC-JP. */
const eucJp = Buffer.from('c6fccbdcb8eca4cec2eaccbe', 'hex');
const title = '日本語の題名';
const html = (head: string, text: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`<html><head>${head}<title>`), text, Buffer.from('</title></head>')]);
const utf8 = Buffer.from(title);
const utf16 = (mark: string, swap: boolean): Buffer => {
  const bytes = Buffer.from(`${mark}<title>${title}</title>`, 'utf16le');
  return swap ? bytes.swap16() : bytes;
};

const pages: Readonly<Record<string, readonly [Buffer, string]>> = {
  'EUC-JP, in a meta after 1024 bytes': [
    html(`<!-- ${'x'.repeat(1100)} --><meta charset="euc-jp">`, eucJp),
    'text/html',
  ],
  'EUC-JP, in an XML declaration': [
    Buffer.concat([Buffer.from('<?xml version="1.0" encoding="EUC-JP"?>'), html('', eucJp)]),
    'application/xhtml+xml',
  ],
  'EUC-JP, in a meta with http-equiv': [
    html('<meta http-equiv="Content-Type" content="text/html; charset=euc-jp">', eucJp),
    'text/html',
  ],
  'EUC-JP, by the header': [html('<meta charset="utf-8">', eucJp), 'text/html; charset=EUC-JP'],
  'EUC-JP, with an unknown charset in the header': [
    html('<meta charset="euc-jp">', eucJp),
    'text/html; charset=nonsense',
  ],
  'UTF-16LE with a byte order mark': [utf16('\uFEFF', false), 'text/html'],
  'UTF-16BE with a byte order mark': [utf16('\uFEFF', true), 'text/html; charset=utf-8'],
  'UTF-8 with a byte order mark, under another header': [
    Buffer.concat([Buffer.from('\uFEFF'), html('', utf8)]),
    'text/html; charset=iso-8859-1',
  ],
  'UTF-8 whose meta says utf-16': [html('<meta charset="utf-16">', utf8), 'text/html'],
  'UTF-8 without a declaration': [html('', utf8), ''],
  'UTF-8 with another charset in a comment': [
    html('<!-- <meta charset="euc-jp"> -->', utf8),
    'text/html',
  ],
};
for (const [what, [bytes, type]] of Object.entries(pages)) {
  test(`the title is read from a page in ${what}`, async (t) => {
    t.is((await pageFacts(decodePage(bytes, type), reader)).title, title);
  });
}

const family = '👩‍👩‍👧‍👦';

test('a long title or description is not cut inside a character', async (t) => {
  for (const character of [family, '🇩🇪', '👍🏽', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'e\u0301']) {
    for (const length of [293, 294, 295, 296, 297, 298, 299]) {
      const start = 'x'.repeat(length);
      const facts = await pageFacts(
        `<title>${start}${character}${character}${'y'.repeat(9)}</title>` +
          `<meta name="description" content="${'x'.repeat(300)}${start}${character}${character}">`,
        reader,
      );
      for (const text of [facts.title, facts.description]) {
        t.regex(text.slice(text.lastIndexOf('x') + 1), new RegExp(`^(?:${character})*y*…?$`, 'v'));
      }
      t.true(Array.from(facts.title).length <= 300);
    }
  }
});

test.serial('a page of unknown charsets is read as UTF-8, and costs no time', async (t) => {
  const page = html('<meta charset=x>'.repeat(120_000), utf8);
  const before = process.threadCpuUsage();
  t.is((await pageFacts(decodePage(page, 'text/html'), reader)).title, title);
  t.true(process.threadCpuUsage(before).user < 400_000);
});

test('very many spaces in a title count as one', async (t) => {
  const page = `<title>x${' '.repeat(1193)}${family}${family}</title>`;
  const { title: found } = await pageFacts(page, reader);
  t.is(found, `x ${family}${family}`);
});

test('pages that take long to read delay neither other work nor the card of another workspace', async (t) => {
  const slow = Buffer.from(`<html><head>${'<li>'.repeat(500_000)}`);
  const download = async ({ url }: { readonly url: string }) => {
    const page = url.endsWith('/slow') ? slow : html('', utf8);
    return { url, status: 200, headers: {}, body: Readable.from([page]) };
  };
  let [turns, isOver] = [0, false];
  const work = () => {
    turns += 1;
    return isOver || setImmediate(work);
  };
  work();
  t.teardown(() => (isOver = true));
  const read = async (workspaceId: string, link: string) => {
    const connection = { downloads: { download }, workspaceId, ...reader } as unknown;
    await cardMaker(connection as Connection, { maxBytes: 1000, maxSide: 100 })(link);
    return turns;
  };
  const slowOnes = Array.from({ length: 4 }, () => read('one', 'https://a.example/slow'));
  const quick = await read('another', 'https://a.example/quick');
  const last = Math.max(...(await Promise.all(slowOnes)));
  t.true(last >= 20 && quick < last / 2, `the card of another workspace: turn ${quick} of ${last}`);
});

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
