import { hasLostGrant } from './access.ts';
import {
  eachSent,
  isWhole,
  nameOf,
  type Evidence,
  type Invariant,
  type Sent,
  type Violation,
} from './evidence.ts';

/** What the API says of each channel, beside what is on its network and what the post's user wanted. */
export function checkStatuses(evidence: Evidence): Violation[] {
  return eachSent(evidence).flatMap((sent) => {
    const { result, history } = sent;
    const violations: Violation[] = [];
    const complain = (invariant: Invariant, what: string): void => {
      const { marker } = history.plan;
      violations.push({ invariant, marker, what: `${nameOf(evidence, sent)}: ${what}` });
    };
    if (saysOther(sent)) {
      const urls = sent.found.map(({ part, url }) => `part ${part} ${url}`).join(', ');
      complain(
        'status says other than the network',
        `${result.url ?? 'no url'}, and on the network: ${urls || 'nothing'}`,
      );
    }

    const hasEndedBadly = result.status === 'failed' || result.status === 'unconfirmed';
    if (hasEndedBadly && (result.error_code === null || !result.error)) {
      complain(
        'not published, and no code says why',
        `the error is ${JSON.stringify(result.error)}`,
      );
    }

    if (isHidden(sent)) {
      const urls = sent.found.map(({ part, url }) => `part ${part} ${url}`).join(', ');
      complain('live, and nothing says so', `on the network: ${urls}; the API names no address`);
    }

    const { revokedAtMs, isBlind } = evidence.plan.channels[sent.channel] ?? {};
    const isDoomed = revokedAtMs !== null;
    // What is not sent again is not told by a refusal of the second one either.
    const cannotTell = isBlind === true && history.cancels.length > 0;
    const isForgotten = history.restores > 0;
    // Its user sends it again once the account is connected again, unless it was cancelled.
    const mayLack =
      isDoomed ||
      (hasLostGrant(evidence, sent.channel) && (isForgotten || sent.post.status === 'draft'));
    if (result.status === 'unconfirmed' && !isDoomed && !isForgotten && !cannotTell) {
      complain('unconfirmed although the network could tell', String(result.error));
    } else if (
      result.status === 'failed' &&
      !(mayLack && result.error_code === 'access_lost') &&
      !(isForgotten && result.error_code === 'not_published')
    ) {
      complain('posts that were lost', `it failed: ${result.error}`);
    } else if (sent.post.status === 'draft' && !history.isDraft && !isForgotten) {
      complain('posts that were lost', 'it is a draft, and its last word was not a cancel');
    }

    return violations;
  });
}

/** Published is there, as a whole and where it says; what is not published is not there as a whole. */
function saysOther(sent: Sent): boolean {
  const { result, found, history } = sent;
  if (result.status === 'published') {
    return !isWhole(sent) || found.find(({ part }) => part === 1)?.url !== result.url;
  }

  // A restored database knows nothing of what was published since its backup.
  return history.restores === 0 && result.status !== 'unconfirmed' && isWhole(sent);
}

/** Part of it is public, and the API shows no trace of that. An unconfirmed channel says that a person has to look. */
const isHidden = ({ result, found, history }: Sent): boolean =>
  history.restores === 0 &&
  found.length > 0 &&
  result.status !== 'unconfirmed' &&
  result.url === null &&
  !`${result.error} ${result.warning}`.includes('http');

/** Posts that were still on their way when the run gave up. */
export const checkEnds = ({ histories }: Evidence): Violation[] =>
  histories
    .filter(({ end, isGone }) => end === null && !isGone)
    .map(({ plan }) => ({
      invariant: 'posts that never ended',
      marker: plan.marker,
      what: 'it was still on its way when the run gave up',
    }));
