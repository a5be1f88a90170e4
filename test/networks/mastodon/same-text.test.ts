import test from 'ava';
import { isSameContent, isSameSource } from '../../../networks/mastodon/same-text.ts';

const page = (content: string) => ({ id: '1', uri: 'https://a.example/1', content });

test('a source is the text that was sent, but for what servers trim and compose', (t) => {
  t.true(isSameSource('Cafe\u0301 now\r\nor later', ' Café now\nor later\n'));
  t.false(isSameSource('Café now', 'Café now!'));
});

test('a page says the same as the text, whatever became of its marks', (t) => {
  const shortened =
    '<p>Read <a href="https://example.com/a/long/path?x=1&amp;y=2" rel="nofollow">' +
    '<span class="invisible">https://</span><span class="ellipsis">example.com/a/lo</span></a> — “now”</p>';
  t.true(isSameContent(page(shortened), 'Read https://example.com/a/long/path?x=1&y=2 -- "now"'));

  const mention =
    '<p><span class="h-card"><a href="https://b.example/@bob" class="u-url mention">@<span>bob</span></a></span> hi ' +
    '<a href="https://a.example/tags/cats" class="mention hashtag" rel="tag">#<span>cats</span></a></p>';
  t.true(isSameContent(page(mention), '@bob@b.example hi #cats'));

  const lines = '<p>One &lt;b&gt;<br>two</p><p>3 &gt; 2 &#39;&#x61;&#39;</p>';
  t.true(isSameContent(page(lines), "One <b>\ntwo\n\n3 > 2 'a'"));
});

test('a page that says something else is another post', (t) => {
  t.false(isSameContent(page('<p>Part 1</p>'), 'Part 2'));
  t.false(isSameContent(page('<p>See https://a.example</p>'), 'See https://b.example'));
  t.false(isSameContent({ id: '1', uri: 'https://a.example/1' }, 'Part 2'));
});

test('texts of emoji alone are told apart', (t) => {
  t.true(isSameContent(page('<p>👋 🌍</p>'), '👋 🌍'));
  t.false(isSameContent(page('<p>👋 🌍</p>'), '👋 🌎'));
});

test('a page made to be slow is judged all the same', (t) => {
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
    t.false(isSameContent(page(piece.repeat(200_000)), 'Hello'));
  }
});
