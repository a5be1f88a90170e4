import test from 'ava';
import { isSameText } from '../../../networks/x/find-post.ts';
import type { XPost } from '../../../sandbox/x/post.ts';
import { presentText } from '../../../sandbox/x/text.ts';
import { family } from '../content.ts';

type Shown = Parameters<typeof isSameText>[0];

const file = { id: '2', cid: 'bafkfile', type: 'image/png', altText: '' };

/** A post as X returns it, from the sandbox's version of a text. */
function shownAs(text: string, files: XPost['files'] = []): Shown {
  const post: XPost = {
    network: 'x',
    id: '1',
    text,
    createdAt: '2026-01-01T00:00:00.000Z',
    replyTo: null,
    conversationId: '1',
    files,
    isMadeWithAi: false,
    isPaidPartnership: false,
  };
  const { text: shown, urls } = presentText(post);
  const attachments = { media_keys: files.map(({ id }) => `3_${id}`) };
  return { id: '1', text: shown, conversation_id: '1', entities: { urls }, attachments };
}

const texts = [
  'Hello',
  'See https://example.com/a?b=1&c=2#d, and <b> & "more"',
  'example.com and www.example.org/path/, EXAMPLE.COM!',
  'https://example.com/a https://example.com/b https://example.com/a',
  `${family} 👍🏽🇫🇷 日本語 한국 Привет`,
  'Zoë — he\u0301llo #tag @demo $AAPL',
  'http://bücher.de/größe?q=ä%20b https://example.com/%zz',
  'https://example.com',
  '!?!',
  '👍',
  ' \n spaces\r\nand lines \n\n',
];
for (const text of texts) {
  test(`${JSON.stringify(text)} is found in X’s version of it`, (t) => {
    t.true(isSameText(shownAs(text.trim().normalize('NFC')), text));
    t.true(isSameText(shownAs(text.trim(), [file]), text), 'with a file');
  });
}

test('if X does not say whether a post has files, its text decides', (t) => {
  for (const text of ['Hello', 'See https://example.com', 'https://example.com/a?b']) {
    for (const files of [[], [file]]) {
      const shown = shownAs(text, files);
      const unknown = { ...shown, attachments: { media_keys: null } };
      t.true(isSameText(unknown, text), text);
      t.true(isSameText({ ...unknown, entities: { urls: null } }, text), `${text}, bare`);
      t.false(isSameText(unknown, 'Another'), text);
    }
  }
});

test('a text with one of X’s own links is found, whatever target X gives for the link', (t) => {
  const sent = 'Read https://t.co/AbCdEf1234 and https://example.com/a';
  const leadsTo = (
    expanded_url: string,
    text = 'Read https://t.co/AbCdEf1234 and https://t.co/x2',
  ) => ({
    id: '1',
    text,
    conversation_id: '1',
    entities: {
      urls: [
        { url: 'https://t.co/AbCdEf1234', expanded_url },
        { url: 'https://t.co/x2', expanded_url: 'https://example.com/a' },
      ],
    },
  });
  t.true(isSameText(leadsTo('https://elsewhere.example/page'), sent));
  t.true(isSameText(leadsTo('https://t.co/AbCdEf1234'), sent));
  t.false(
    isSameText(leadsTo('https://elsewhere.example/page', 'Read https://t.co/AbCdEf1234'), sent),
  );
  t.false(isSameText(leadsTo('https://elsewhere.example/page'), sent.replace('Read', 'Write')));
});

test('a post with only files has no text', (t) => {
  t.true(isSameText(shownAs('', [file, file]), ''));
  t.false(isSameText(shownAs('Words', [file]), ''));
});

const others: readonly (readonly [sent: string, shown: string])[] = [
  ['Hello', 'Hello 2'],
  ['Hello', 'Hello https://example.com'],
  ['See https://example.com/a', 'See https://example.com/b'],
  ['See https://example.com', 'See'],
  ['A https://a.de B https://b.de', 'A https://b.de B https://a.de'],
  ['👍', '👎'],
  ['!?!', '?!?'],
];
for (const [sent, shown] of others) {
  test(`"${shown}" is another post than "${sent}"`, (t) => {
    t.false(isSameText(shownAs(shown), sent));
  });
}

test('a link without a target from X matches any link, but must be a link', (t) => {
  const mute = (text: string): Shown => ({ ...shownAs(text), entities: {} });
  t.true(isSameText(mute('See https://example.com/a'), 'See https://example.com/a'));
  t.false(isSameText(mute('See https://example.com/a'), 'See'));
  const withFile = { ...shownAs('See', [file]), entities: {} };
  t.true(isSameText(withFile, 'See'), 'the last link leads to the files');
});
