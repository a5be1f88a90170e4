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

/** The servers that are real: they have all accounts of their network. */
export type RealServers = Readonly<Record<RealPlatform, string>> & {
  /** Clients that have nothing to do with the product, and read what anybody may read. */
  readonly readers: { readonly mastodon: mastodon.rest.Client; readonly bluesky: AtpAgent };
};

/** How the product reaches a channel's server, and that server where it is the sandbox's. */
export type ChannelLine = NetworkLine & { readonly played: PlayedServer | null };

/** The way to each account: accounts of a real server share two, one of which hangs and breaks now and then. */
export type Lines = {
  /** Of the channel with this number. */
  of(channel: number): ChannelLine;
  /** Of a network's accounts on servers that hang and break now and then. */
  frail(platform: Platform): readonly NetworkLine[];
  readonly all: readonly NetworkLine[];
  /** Of all channels with grants, in the order of their answers. */
  readonly refreshes: readonly SeenRefresh[];
};

export type LinesOptions = {
  /** In which the sandboxes keep their posts. */
  readonly folder: string;
  readonly faults: PlannedFaults;
  readonly refreshFaults: PlannedRefreshes;
  readonly journal: Journal;
  readonly cues: Cues;
  readonly killWorker: (name: string) => void;
};

/** Starts GoToSocial and a PDS. @throws Error with the reason when one of them cannot be had. */
export async function startRealServers(t: ExecutionContext): Promise<RealServers> {
  for (const start of [startGoToSocial, startPds]) {
    const { env, stop } = await start();
    t.teardown(stop);
    // Test support looks there for them.
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

/** Of an account that the sandbox plays; null for one on a real server. */
const sandboxPlatformOf = ({ platform, isTried }: ChannelPlan): SandboxPlatform | null =>
  isPlayed(platform) || (isTried && platform === 'bluesky') ? platform : null;

type PlayedOptions = LinesOptions & {
  readonly storm: Storm;
  readonly refreshes: SeenRefresh[];
};

/** A sandbox for one channel, and the line to it. */
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

/** Opens a line for each channel, and a sandbox where one plays its network: that has one account. */
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
        throw new Error(`There is no channel ${channel}.`);
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
