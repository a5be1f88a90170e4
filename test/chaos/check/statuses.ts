import { hasLostGrant } from './access.ts';
import {
  eachSent,
  isComplete,
  nameOf,
  type Evidence,
  type Invariant,
  type Sent,
  type Violation,
} from './evidence.ts';

/** Compares each channel's status in the API with its network and with the user's last calls. */
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
        'status that differs from the network',
        `URL ${result.url ?? 'none'}, but on the network: ${urls || 'nothing'}`,
      );
    }

    const hasEndedBadly = result.status === 'failed' || result.status === 'unconfirmed';
    if (hasEndedBadly && (result.error_code === null || !result.error)) {
      complain(
        'not published, without an error code',
        `the error is ${JSON.stringify(result.error)}`,
      );
    }

    if (isHidden(sent)) {
      const urls = sent.found.map(({ part, url }) => `part ${part} ${url}`).join(', ');
      complain('live, but not shown by the API', `on the network: ${urls}; the API has no URL`);
    }

    const { revokedAtMs, isBlind } = evidence.plan.channels[sent.channel] ?? {};
    const isDoomed = revokedAtMs !== null;
    // A cancelled part is not sent again, so no duplicate refusal can settle it.
    const cannotTell = isBlind === true && history.cancels.length > 0;
    const isForgotten = history.restores > 0;
    // The user retries it after a reconnect, unless it was cancelled.
    const mayLack =
      isDoomed ||
      (hasLostGrant(evidence, sent.channel) && (isForgotten || sent.post.status === 'draft'));
    if (result.status === 'unconfirmed' && !isDoomed && !isForgotten && !cannotTell) {
      complain('unconfirmed although the network could tell', String(result.error));
    } else if (
      result.status === 'failed' &&
      !(mayLack && result.error_code === 'access_lost') &&
      !(isForgotten && result.error_code === 'not_published') &&
      !(history.isDraft && result.error_code === 'cancelled')
    ) {
      complain('posts that were lost', `it failed: ${result.error}`);
    } else if (sent.post.status === 'draft' && !history.isDraft && !isForgotten) {
      complain('posts that were lost', 'it is a draft, but its last call was not a cancel');
    }

    return violations;
  });
}

/** A published post is complete on its network at its URL; any other post is not. */
function saysOther(sent: Sent): boolean {
  const { result, found, history } = sent;
  if (result.status === 'published') {
    const url = found.find(({ part }) => part === 1)?.url;
    const isSame =
      url === result.url || (history.settled > 0 && pageOf(url) === pageOf(result.url));
    return !isComplete(sent) || !isSame;
  }

  // A restored database lacks the posts that were published since its backup.
  return history.restores === 0 && !isInDoubt(result) && isComplete(sent);
}

/** A user settles a post at the server of its channel, which is a proxy. */
const pageOf = (url: string | null | undefined): string | null =>
  url ? new URL(url).pathname : null;

/** The API says that it does not know whether the network has the post. */
const isInDoubt = ({ status, error_code: code }: Sent['result']): boolean =>
  status === 'unconfirmed' || (status === 'retrying' && code === 'access_lost');

/** Part of it is public and the API does not show it. A channel in doubt asks a person to check. */
const isHidden = ({ result, found, history }: Sent): boolean =>
  history.restores === 0 &&
  found.length > 0 &&
  !isInDoubt(result) &&
  result.url === null &&
  !`${result.error} ${result.warning}`.includes('http');

/** Posts that had not ended when the run stopped waiting. */
export const checkEnds = ({ histories }: Evidence): Violation[] =>
  histories
    .filter(({ end, isGone }) => end === null && !isGone)
    .map(({ plan }) => ({
      invariant: 'posts that never ended',
      marker: plan.marker,
      what: 'it had not ended when the run stopped waiting',
    }));
