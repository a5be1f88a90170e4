import { buildRouteMap } from '@stricli/core';
import { scopes } from '../../domain/api-keys.ts';
import { Punctual } from '../../sdk/src/index.ts';
import { command } from '../command.ts';
import { NoKeyError, UsageError } from '../failures.ts';
import { given, required, someOf, text, texts, toggle } from '../flags.ts';
import { confirm, readSecret } from '../input.ts';
import {
  baseUrl,
  changeProfiles,
  namedProfile,
  profilesFile,
  readProfiles,
  sendableKey,
  usualUrl,
} from '../profiles.ts';
import { facts, tableOf } from '../table.ts';
import { apiCommand } from './api-command.ts';
import { chosenChannels } from './channels.ts';

type Me = Awaited<ReturnType<Punctual['me']>>;

const login = command({
  brief: 'Stores an API key as a profile',
  description:
    'Asks for an API key, or reads it from standard input, checks it, and stores it as a profile in a file that only you can read. A key cannot be an argument: other users of the machine could see it.',
  examples: [
    'auth login',
    'auth login --profile work --url https://punctual.example.com < key.txt',
  ],
  flags: {
    url: text(`Address of the service (${usualUrl} unless given)`, 'URL'),
    keepCurrent: toggle('Does not make it the current profile if there is one'),
  },
  run: async ({ env, profile, say }, { url: asked, keepCurrent }) => {
    const name = namedProfile(env, profile) ?? 'default';
    if (!/^[\w\-]{1,64}$/v.test(name)) {
      throw new UsageError('The name of a profile has letters, digits, "-" and "_" only.');
    }

    const before = (await readProfiles(env)).profiles[name];
    const url = baseUrl(asked ?? (env['PUNCTUAL_URL'] || before?.url || usualUrl));
    const apiKey = sendableKey(await readSecret('API key'));
    const me = await new Punctual({ apiKey, baseUrl: url }).me();
    await changeProfiles(env, ({ current, profiles }) => ({
      current: keepCurrent ? (current ?? name) : name,
      profiles: { ...profiles, [name]: { ...profiles[name], url, api_key: apiKey } },
    }));
    say(`Stored in ${profilesFile(env)}.`);
    return { data: me, text: meText(me, url, name) };
  },
});

const status = command({
  brief: 'Shows the profiles, and which key is in use',
  run: async ({ env, access }) => {
    const { current, profiles } = await readProfiles(env);
    const used = await access().catch(onlyWithoutKey);
    const inUse = used && { url: used.url, key: lastOf(used.apiKey), profile: used.profile };
    const all = Object.entries(profiles).map(([name, one]) => ({
      name,
      url: one.url,
      key: lastOf(one.api_key),
      current: name === current,
    }));
    const source = inUse?.profile ? `profile ${inUse.profile}` : 'PUNCTUAL_API_KEY';
    return {
      data: { profiles: all, in_use: inUse },
      text: [
        inUse
          ? `In use: ${source} (${inUse.key}) at ${inUse.url}`
          : 'No key is in use. Run "punctual auth login".',
        ...all.map((one) => `${one.current ? '*' : ' '} ${one.name}  ${one.url}  ${one.key}`),
      ].join('\n'),
    };
  },
});

function onlyWithoutKey(error: unknown): null {
  if (error instanceof NoKeyError) {
    return null;
  }

  throw error;
}

/** Names a key without revealing it. */
const lastOf = (key: string): string => `…${key.slice(-4)}`;

const logout = command({
  brief: 'Forgets a profile',
  description:
    'Removes the profile from the file. Its key stays valid until "punctual key revoke".',
  run: async ({ env, profile }) => {
    const { current, profiles } = await readProfiles(env);
    const name = namedProfile(env, profile) ?? current;
    if (name === undefined || !profiles[name]) {
      throw new NoKeyError(
        `There is no profile ${name === undefined ? 'to forget' : `"${name}"`}.`,
      );
    }

    await changeProfiles(env, (before) => {
      const { [name]: _, ...rest } = before.profiles;
      return before.current === name ? { profiles: rest } : { ...before, profiles: rest };
    });
    return { data: { profile: name }, text: `Forgot the profile ${name}. Its key stays valid.` };
  },
});

const switchTo = command({
  brief: 'Makes a profile the current one',
  args: { name: 'Name of the profile' },
  run: async ({ env }, { name }) => {
    await changeProfiles(env, (before) => {
      if (!before.profiles[name]) {
        const names = Object.keys(before.profiles).join(', ') || 'none';
        throw new UsageError(`There is no profile "${name}". Profiles: ${names}.`);
      }

      return { ...before, current: name };
    });
    return { data: { profile: name }, text: `${name} is the current profile.` };
  },
});

export const auth = buildRouteMap({
  routes: { login, status, logout, switch: switchTo },
  docs: { brief: 'Stores API keys as profiles, and chooses one' },
});

export const whoami = command({
  brief: 'Shows the workspace and the key in use',
  run: async ({ access, client }) => {
    const { url, profile } = await access();
    const me = await (await client()).me();
    return { data: me, text: meText(me, url, profile) };
  },
});

const meText = ({ workspace, channels, plan, key }: Me, url: string, profile: string | null) =>
  facts([
    ['Workspace', `${workspace.name ?? ''} (${workspace.id})`],
    ['Plan', plan],
    ['Channels', String(channels)],
    ['Key', `${key.name ?? ''} …${key.last_four}: ${key.scopes.join(', ')}`],
    ['Expires', key.expires_at],
    ['Service', url],
    ['Profile', profile ?? 'none: PUNCTUAL_API_KEY'],
  ]);

const list = apiCommand({
  brief: 'Lists the API keys of the workspace',
  call: (client) => client.keys.list(),
  show: ({ keys }) =>
    tableOf(
      keys.map((one) => ({ ...one, status: hasExpired(one) ? 'expired' : 'active' })),
      ['id', 'name', 'last_four', 'status', 'last_used_at', 'expires_at', 'scopes'],
    ),
});

const hasExpired = ({ expires_at: end }: { readonly expires_at: string | null }): boolean =>
  end !== null && Date.parse(end) <= Date.now();

const create = apiCommand({
  brief: 'Makes an API key, and shows it this once',
  examples: ['key create --name Newsletter --scope posts:read --scope posts:write'],
  flags: {
    name: required(text('What it is for')),
    scope: required(someOf(scopes, 'A right of the key')),
    channel: texts('Limits it to this account: its id, handle or network', 'CHANNEL'),
    expires: text('When it ends, such as 2027-03-01T09:00Z', 'TIME'),
  },
  call: async (client, { name, scope, channel, expires }) => {
    const channels = channel && (await chosenChannels(client, channel));
    const more = given({ channel_ids: channels, expires_at: expires });
    return client.keys.create({ name, scopes: scope, ...more });
  },
  show: ({ key }) => `Id   ${key.id}\nKey  ${key.key} (shown only now)`,
});

const revoke = apiCommand({
  brief: 'Revokes an API key at once',
  args: { key: 'Id of the key' },
  flags: { yes: toggle('Does not ask') },
  call: async (client, { key: id, yes }) => {
    await confirm(`Revoke the key ${id}? Programs that use it are refused at once.`, yes);
    return client.keys.revoke(id);
  },
  show: ({ id }) => `Revoked ${id}.`,
});

export const key = buildRouteMap({
  routes: { list, create, revoke },
  docs: { brief: 'Manages the API keys of the workspace' },
});
