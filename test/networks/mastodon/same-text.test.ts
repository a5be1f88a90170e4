import test from 'ava';
import * as sameText from '../../../networks/mastodon/find-status.ts';

const { soughtText } = sameText;

const isSameSource = (source: string, text: string) =>
  sameText.isSameSource(source, soughtText(text));

const isSameContent = (status: Parameters<typeof sameText.isSameContent>[0], text: string) =>
  sameText.isSameContent(status, soughtText(text), { signal: new AbortController().signal });

const page = (content: string) => ({ id: '1', uri: 'https://a.example/1', content });

test('a source matches the sent text, except for trimmed and composed characters', (t) => {
  t.true(isSameSource('Cafe\u0301 now\r\nor later', ' Café now\nor later\n'));
  t.false(isSameSource('Café now', 'Café now!'));
});

test('a status that starts with the text and continues is another post', async (t) => {
  const longer = `Hi! ${'🟩'.repeat(2200)} I won the whole thing today`;
  t.false(await isSameContent(page(`<p>${longer}</p>`), 'Hi!'));
  t.false(isSameSource(longer, 'Hi!'));
  t.false(sameText.isAlike(longer, soughtText('Hi!')));
});

test('a page matches the text with any change of its marks by the server', async (t) => {
  const shortened =
    '<p>Read <a href="https://example.com/a/long/path?x=1&amp;y=2" rel="nofollow">' +
    '<span class="invisible">https://</span><span class="ellipsis">example.com/a/lo</span></a> — “now”</p>';
  t.true(
    await isSameContent(page(shortened), 'Read https://example.com/a/long/path?x=1&y=2 -- "now"'),
  );

  const mention =
    '<p><span class="h-card"><a href="https://b.example/@bob" class="u-url mention">@<span>bob</span></a></span> hi ' +
    '<a href="https://a.example/tags/cats" class="mention hashtag" rel="tag">#<span>cats</span></a></p>';
  t.true(await isSameContent(page(mention), '@bob@b.example hi #cats'));

  const lines = '<p>One &lt;b&gt;<br>two</p><p>3 &gt; 2 &#39;&#x61;&#39;</p>';
  t.true(await isSameContent(page(lines), "One <b>\ntwo\n\n3 > 2 'a'"));

  const open =
    '<p><a href="https://a.example/1">one</p><p>and <a href="https://a.example/2">two<a>three</a>';
  t.true(await isSameContent(page(open), 'https://a.example/1 and https://a.example/2 three'));
});

test('a page may use any HTML form of its letters, marks and links', async (t) => {
  const entities =
    '<p>Caf&eacute; &Ouml;l &alpha;&#x301; &frac12; &notin; &hellip; &CounterClockwiseContourIntegral; R&ampD</p>';
  t.true(await isSameContent(page(entities), 'Café Öl ά ½ ∉ … ∳ R&D'));

  const attributes =
    "<P TITLE='a > b'>See <A title=\"1 > 0\" HREF='https://a.example/?q=caf&eacute;&amp;r=1'>here</A>" +
    ' or <a rel=nofollow href=https://b.example/x>there</a></P><!-- <p>not shown</p> -->';
  const sent = 'See https://a.example/?q=café&r=1 or https://b.example/x';
  t.true(await isSameContent(page(attributes), sent));
  t.false(await isSameContent(page('<p>5 &lt; 6 &amp;eacute;</p>'), '5 < 6 é'));
});

test('a page with another text is another post', async (t) => {
  t.false(await isSameContent(page('<p>Part 1</p>'), 'Part 2'));
  t.false(await isSameContent(page('<p>See https://a.example</p>'), 'See https://b.example'));
  t.false(await isSameContent({ id: '1', uri: 'https://a.example/1' }, 'Part 2'));
});

test('different texts of only emoji are different posts', async (t) => {
  t.true(await isSameContent(page('<p>👋 🌍</p>'), '👋 🌍'));
  t.false(await isSameContent(page('<p>👋 🌍</p>'), '👋 🌎'));
});

test('a page that was made to be slow is compared in time', async (t) => {
  for (const piece of [
    '<',
    '<a ',
    '<a href="',
    '<a href="x">',
    '&#1',
    '@a',
    '@a@',
    '<a class="m',
  ]) {
    t.false(await isSameContent(page(piece.repeat(200_000)), 'Hello'));
  }
});
