import test from 'ava';
import { choiceOf } from '../../../networks/bluesky/rules.ts';

test('an option that does not match its schema is ignored', (t) => {
  const nothing = { langs: [], labels: [], hasLinkCard: true };
  t.deepEqual(choiceOf({}), nothing);
  t.deepEqual(choiceOf({ langs: 'en', labels: [5, null], link_card: 'no' }), nothing);
  t.false(choiceOf({ link_card: false }).hasLinkCard);
});
