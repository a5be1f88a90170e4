import test from 'ava';
import { choiceOf, rules } from '../../../networks/mastodon/rules.ts';
import { against, contentOf, image } from '../content.ts';

const mastodon = against(rules);

test('a content warning counts as part of the text', (t) => {
  const with10 = (length: number) =>
    contentOf({ texts: ['x'.repeat(length)], options: { spoiler_text: '0123456789' } });
  mastodon.takes(t, with10(490));
  mastodon.refuses(
    t,
    with10(491),
    'The text is too long for this Mastodon server: it takes 500 characters (a link counts 23), and this is 501, of which spoiler_text has 10.',
  );
});

test('a content warning without a text, and a direct post without a mention, have warnings', (t) => {
  const options = { spoiler_text: 'Spiders' };
  mastodon.warns(t, contentOf({ texts: ['Look'], media: [image()], options }));
  mastodon.warns(
    t,
    contentOf({ texts: [''], media: [image()], options }),
    'Without a text, Mastodon shows the content warning as the text, and hides nothing behind it.',
  );
  const direct = { visibility: 'direct' };
  mastodon.warns(t, contentOf({ texts: ['Hi @alice@a.example'], options: direct }));
  mastodon.warns(
    t,
    contentOf({ texts: ['Write to me@a.example'], options: direct }),
    'A direct post is seen only by the accounts that it mentions, and one of its texts mentions no account.',
  );
});

test('an option that does not match its schema is ignored', (t) => {
  const options = { visibility: 'everybody', spoiler_text: 5, sensitive: 'yes', language: null };
  t.deepEqual(choiceOf(options), { visibility: 'public' });
});
