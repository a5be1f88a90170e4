import test from 'ava';
import { choiceOf } from '../../../networks/bluesky/options.ts';

test('an option of another shape than the schema says counts as left out', (t) => {
  const nothing = { langs: [], labels: [], hasLinkCard: true };
  t.deepEqual(choiceOf({}), nothing);
  t.deepEqual(choiceOf({ langs: 'en', labels: [5, null], link_card: 'no' }), nothing);
  t.false(choiceOf({ link_card: false }).hasLinkCard);
});
