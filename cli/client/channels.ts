import { buildRouteMap } from '@stricli/core';
import type { Channel, Punctual } from '../../sdk/src/index.ts';
import { UsageError } from '../failures.ts';
import { given, network, required, text, toggle } from '../flags.ts';
import { localTime, tableOf, tableText } from '../table.ts';
import { apiCommand } from './api-command.ts';

const list = apiCommand({
  brief: 'Lists the connected accounts',
  examples: ['channel list', `channel list --jq '.channels[].id'`],
  call: (client) => client.channels.list(),
  show: ({ channels }) => tableOf(channels, ['id', 'platform', 'handle', 'state', 'error']),
});

const connect = apiCommand({
  brief: 'Makes a link on which a person connects an account',
  examples: ['channel connect --platform mastodon --url https://mastodon.social'],
  flags: {
    platform: required(network('Network of the account, such as mastodon')),
    url: text("The account's server, of Mastodon or Bluesky", 'URL'),
    handle: text('Handle of the account', 'HANDLE'),
    returnUrl: text('Where the person goes afterwards', 'URL'),
    sandbox: toggle('Connects an account of the sandbox'),
  },
  call: (client, { platform, returnUrl, ...fields }) =>
    client.channels.connect({ platform, ...given({ ...fields, return_url: returnUrl }) }),
  show: ({ link, expires_at: until }) => `Open this link before ${localTime(until)}:\n${link}`,
});

export const channel = buildRouteMap({
  routes: { list, connect },
  docs: { brief: 'Lists and connects accounts' },
});

/** The ids of accounts that are named by id, handle or network. @param among Those that may be meant. */
export async function chosenChannels(
  client: Punctual,
  named: readonly string[],
  flag = '--channel',
  among?: readonly string[],
): Promise<string[]> {
  if (named.every(isId)) {
    return [...named];
  }

  const { channels } = await client.channels.list();
  const meant = channels.filter(({ id }) => !among || among.includes(id));
  return named.map((name) => (isId(name) ? name : idOf(name, flag, meant)));
}

export const isId = (name: string): boolean =>
  /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iv.test(name);

function idOf(name: string, flag: string, channels: readonly Channel[]): string {
  const found = channels.filter(
    ({ platform, handle }) =>
      platform === name.toLowerCase() || handle === name || handle === `@${name}`,
  );
  if (found.length === 1 && found[0]) {
    return found[0].id;
  }

  const shown = (found.length > 0 ? found : channels).slice(0, 20);
  const accounts = tableText(tableOf(shown, ['id', 'platform', 'handle']));
  throw new UsageError(
    found.length > 0
      ? `${flag} ${name} is several accounts. Name one by its handle or id:\n${accounts}`
      : `${flag} ${name} is none of these accounts. "punctual channel connect" connects others.\n${accounts}`,
  );
}
