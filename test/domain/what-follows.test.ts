import test from 'ava';
import { channelErrorCodes } from '../../domain/channel-error.ts';
import { whatFollows } from '../../domain/what-follows.ts';

test('whatever ended a channel, its owner reads what can be done', (t) => {
  for (const code of channelErrorCodes) {
    t.regex(whatFollows(code, null), /(?:[Rr]etry|make a new post|settle)[^.]*\.$/v, code);
  }
});

test('while it is tried again by itself, its owner reads when', (t) => {
  for (const code of channelErrorCodes) {
    const said = whatFollows(code, Date.UTC(2026, 4, 1, 12));
    t.is(said, 'It is tried again by itself at 2026-05-01T12:00:00.000Z.', code);
  }
});
