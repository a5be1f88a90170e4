import type { ExecutionContext } from 'ava';
import type { Resolve } from '../../../../runtime/egress/resolver.ts';
import { recordingConnector } from '../../../runtime/egress/support/egress.ts';
import { ownUrl } from '../../../runtime/egress/support/urls.ts';
import { newClient, type Client } from '../../../support/client.ts';
import { startApi, type Punctual } from '../../../support/punctual.ts';

export type UrlWorld = {
  readonly punctual: Punctual;
  readonly client: Client;
  /** Names that DNS was asked for. */
  readonly asked: string[];
  /** Addresses that would have been dialled; nothing is. */
  readonly dialled: string[];
};

/** An API whose names are resolved by the test, and which dials nothing. It is reached at `ownUrl`. */
export async function urlWorld(
  t: ExecutionContext,
  resolve: Resolve = async () => ['93.184.216.34'],
  now: () => Date = () => new Date(),
): Promise<UrlWorld> {
  const asked: string[] = [];
  const { dialled, connect } = recordingConnector();
  const outside = {
    connect,
    resolve: async (host: string) => {
      asked.push(host);
      return resolve(host);
    },
  };
  const punctual = await startApi(t, { outside, publicUrl: ownUrl, now });
  return { punctual, client: await newClient(punctual), asked, dialled };
}

export const events = ['post.failed'];
export const good = 'https://8.8.8.8/hook';
