import type { Orm } from '../db/orm.ts';
import type { Networks } from '../networks/registry.ts';
import { egressSettings } from '../runtime/config/allowed-addresses.ts';
import type { Config } from '../runtime/config/read-config.ts';
import { parseAllowList, parseNat64Prefixes } from '../runtime/egress/addresses.ts';
import { createEgress, type EgressOptions } from '../runtime/egress/create-egress.ts';
import { checkDestination, checkUrl, createResolver } from '../runtime/egress/destination.ts';
import type { Downloader, Egress } from '../runtime/egress/egress.ts';
import { createSealer } from '../runtime/secrets.ts';
import type { MediaDeps, ServiceDeps } from './deps.ts';

/** The dependencies that every process opens alike. Storage is apart, because it is slow to load. */
export type Composed = Omit<ServiceDeps, 'media' | 'log' | 'now' | 'networks'> & {
  readonly networks: Networks;
  /** HTTP client for files and pages at addresses that users choose. */
  readonly downloads: Egress & Downloader;
  readonly refuseDownload: MediaDeps['refuseUrl'];
  /** Closes the HTTP clients. The caller closes `orm`. */
  readonly closeEgress: () => Promise<unknown>;
};

type Options = {
  readonly orm: Orm;
  /** Whether a network must not be at the host of `publicUrl`. */
  readonly guardsNetworks: boolean;
  /** For tests: a resolver, connections or a CA instead of the real ones. */
  readonly outside?: Pick<EgressOptions, 'resolve' | 'connectTo' | 'ca'>;
};

/**
 * Opens the dependencies of use cases with the operator's settings. Nothing connects before the first use.
 *
 * Each purpose has its own connections: an open connection to an address that one of them allows must not serve
 * another.
 */
export function composeServices(
  config: Config,
  networks: Networks,
  { orm, guardsNetworks, outside = {} }: Options,
): Composed {
  const { publicUrl, sandboxUrl, returnUrls, brand, quotas, egressAllow } = config;
  const nat64 = parseNat64Prefixes(egressAllow.nat64);
  const openTo = (purpose: keyof typeof egressSettings) => ({
    allow: parseAllowList(egressAllow[purpose]),
    nat64,
    setting: egressSettings[purpose],
    ...outside,
  });
  const own = { ownUrl: publicUrl };
  const networkEgress = createEgress({
    ...openTo('networks'),
    ...(guardsNetworks ? own : {}),
  });
  const forWebhooks = { ...openTo('webhooks'), ...own };
  const egress = createEgress(forWebhooks);
  const forDownloads = openTo('downloads');
  const downloads = createEgress({ ...forDownloads, ...own });
  return {
    orm,
    sealer: createSealer(config.secretKey),
    rules: networks.rules,
    networks,
    networkEgress,
    egress,
    downloads,
    refuseUrl: (url) => checkDestination(url, { resolve: createResolver(), ...forWebhooks }),
    refuseDownload: (url) => checkUrl(url, forDownloads),
    closeEgress: () => Promise.all([egress, downloads, networkEgress].map((each) => each.close())),
    publicUrl,
    sandboxUrl,
    returnUrls,
    brand,
    quotas,
  };
}
