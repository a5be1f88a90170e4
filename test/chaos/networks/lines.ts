import { AtpAgent } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import type { mastodon } from 'masto';
import { mastodonAccount } from '../../support/accounts.ts';
import { startGoToSocial } from '../../support/services/gotosocial.ts';
import { startPds } from '../../support/services/pds.ts';
import type { Cues } from '../parts/cues.ts';
import type { Journal } from '../parts/journal.ts';
import {
  isPlayed,
  type Platform,
  type PlayedPlatform,
  type SandboxPlatform,
} from '../plan/platforms.ts';
import type { ChannelPlan } from '../plan/post-plan.ts';
import { networkLine, type NetworkLine, type Storm } from './network-line.ts';
import type { PlannedFaults } from './planned-faults.ts';
import type { PlannedRefreshes, SeenRefresh } from './refreshes.ts';
import { playedLine } from './played-platforms.ts';
import { blueskyLine, mastodonLine } from './real-platforms.ts';
import { startPlayedServer, type PlayedServer } from './sandbox-server.ts';

type RealPlatform = Exclude<Platform, PlayedPlatform>;

/** The real servers. Each has all accounts of its network. */
export type RealServers = Readonly<Record<RealPlatform, string>> & {
  /** Clients that are independent of the product and read public posts. */
  readonly readers: { readonly mastodon: mastodon.rest.Client; readonly bluesky: AtpAgent };
};

/** The proxy between the product and a channel's server, and that server if it is a sandbox. */
export type ChannelLine = NetworkLine & { readonly played: PlayedServer | null };

/** The lines to all accounts. Accounts on a real server share two lines, one of which hangs and breaks now and then. */
export type Lines = {
  /** The line of the channel with this number. */
  of(channel: number): ChannelLine;
  /** The lines to a network's accounts that hang and break now and then. */
  frail(platform: Platform): readonly NetworkLine[];
  readonly all: readonly NetworkLine[];
  /** Refreshes of all channels with grants, in the order of their responses. */
  readonly refreshes: readonly SeenRefresh[];
};

export type LinesOptions = {
  /** The folder in which the sandboxes store their posts. */
  readonly folder: string;
  readonly faults: PlannedFaults;
  readonly refreshFaults: PlannedRefreshes;
  readonly journal: Journal;
  readonly cues: Cues;
  readonly killWorker: (name: string) => void;
};

/** Starts GoToSocial and a PDS. @throws Error with the reason when one of them cannot start. */
export async function startRealServers(t: ExecutionContext): Promise<RealServers> {
  for (const start of [startGoToSocial, startPds]) {
    const { env, stop } = await start();
    t.teardown(stop);
    // Test support reads the addresses from the environment.
    Object.assign(process.env, env);
  }

  const { client } = await mastodonAccount();
  const bluesky = process.env['PUNCTUAL_TEST_PDS_URL'] ?? '';
  return {
    mastodon: process.env['PUNCTUAL_TEST_GOTOSOCIAL_URL'] ?? '',
    bluesky,
    readers: { mastodon: client, bluesky: new AtpAgent({ service: bluesky }) },
  };
}

/** The platform if the sandbox plays it; null for an account on a real server. */
const sandboxPlatformOf = ({ platform, isTried }: ChannelPlan): SandboxPlatform | null =>
  isPlayed(platform) || (isTried && platform === 'bluesky') ? platform : null;

type PlayedOptions = LinesOptions & {
  readonly storm: Storm;
  readonly refreshes: SeenRefresh[];
};

/** Starts a sandbox for one channel, and the line to it. */
async function openPlayed(
  t: ExecutionContext,
  platform: SandboxPlatform,
  channel: number,
  { folder, refreshFaults, refreshes, ...watched }: PlayedOptions,
): Promise<ChannelLine> {
  const name = `${platform}-${channel}`;
  const played = await startPlayedServer(t, platform, { folder, name });
  const line = await networkLine(t, {
    ...playedLine(platform, name),
    ...watched,
    refreshes: { channel, faults: refreshFaults, order: played.order, seen: refreshes },
    server: { url: played.url, isAtLine: true },
    ...(platform !== 'bluesky' && { slowDown: () => played.order('slow') }),
  });
  return { ...line, played };
}

/** Opens a line for each channel, with its own sandbox where the network is played. */
export async function openLines(
  t: ExecutionContext,
  servers: RealServers,
  channels: readonly ChannelPlan[],
  options: LinesOptions,
): Promise<Lines> {
  const { folder, refreshFaults, ...watched } = options;
  const refreshes: SeenRefresh[] = [];
  const storms = new Map<string, Storm>();
  const shared = new Map<string, NetworkLine>();
  const open = async (plan: ChannelPlan, channel: number): Promise<ChannelLine> => {
    const group = `${plan.platform}${plan.isFrail ? ' frail' : ''}`;
    const storm = storms.get(group) ?? { untilMs: 0 };
    storms.set(group, storm);
    const platform = sandboxPlatformOf(plan);
    if (platform) {
      const given = { ...watched, storm, refreshFaults, refreshes, folder };
      return openPlayed(t, platform, channel, given);
    }

    const wire = plan.platform === 'mastodon' ? mastodonLine : blueskyLine;
    const server = { url: servers[plan.platform as RealPlatform], isAtLine: false };
    const line =
      shared.get(group) ?? (await networkLine(t, { ...wire, ...watched, storm, server }));
    shared.set(group, line);
    return { ...line, played: null };
  };

  const lines: ChannelLine[] = [];
  for (const [channel, plan] of channels.entries()) {
    lines.push(await open(plan, channel));
  }
  const byUrl = new Map(lines.map((line) => [line.url, line]));
  return {
    of: (channel) => {
      const line = lines[channel];
      if (!line) {
        throw new Error(`Channel ${channel} does not exist.`);
      }
      return line;
    },
    frail: (platform) => {
      const own = lines.filter((_, channel) => {
        const plan = channels[channel];
        return plan?.isFrail && plan.platform === platform;
      });
      return [...new Map(own.map((line) => [line.url, line])).values()];
    },
    all: [...byUrl.values()],
    refreshes,
  };
}
