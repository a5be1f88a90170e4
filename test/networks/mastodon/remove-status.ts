import type { mastodon } from 'masto';
import { poll } from '../../support/poll.ts';

/** Deletes a status for good: GoToSocial answers first and deletes then. */
export async function removeStatus(client: mastodon.rest.Client, id: string): Promise<void> {
  const status = client.v1.statuses.$select(id);
  await status.remove();
  const isThere = () =>
    status.fetch().then(
      () => true,
      () => false,
    );
  await poll(isThere, (there) => !there);
}
