import { AppBskyRichtextFacet, RichText, type Facet } from '@atproto/api';
import type { ServerAccess } from '../send-network-request.ts';
import { resolveHandle } from './resolve-handle.ts';

type Feature = Facet['features'][number];

/**
 * The links, mentions and tags of a text, with byte offsets.
 *
 * A mention whose handle does not resolve, and a link that is not a valid URL, stay plain text: the server would refuse
 * the whole post because of them.
 *
 * @throws what `didOf` throws.
 */
export async function facetsOf(text: string, didOf: ResolveHandle): Promise<Facet[]> {
  const richText = new RichText({ text });
  richText.detectFacetsWithoutResolution();
  const facets: Facet[] = [];
  for (const { index, features } of richText.facets ?? []) {
    const resolved = [];
    for (const feature of features) {
      resolved.push(await resolveFeature(feature, didOf));
    }

    const kept = resolved.filter((feature) => feature !== null);
    if (kept.length > 0) {
      facets.push({ index, features: kept });
    }
  }

  return facets;
}

async function resolveFeature(feature: Feature, didOf: ResolveHandle): Promise<Feature | null> {
  if (AppBskyRichtextFacet.isMention(feature)) {
    // The detection puts the handle into the field for the DID.
    const did = await didOf(feature.did);
    return did === null ? null : { ...feature, did };
  }

  return AppBskyRichtextFacet.isLink(feature) && !URL.canParse(feature.uri) ? null : feature;
}

/** Returns the DID of a handle, or null when there is none. */
type ResolveHandle = (handle: string) => Promise<string | null>;

/**
 * Makes a resolver that asks the account's own server once per handle.
 *
 * It throws NetworkError when the server cannot resolve at the moment: a post is not edited later, so a mention that is
 * left out would be lost.
 */
export function handleResolver(server: ServerAccess): ResolveHandle {
  const known = new Map<string, string | null>();
  return async (handle) => {
    let did = known.get(handle);
    if (did === undefined) {
      did = await resolveHandle(server, handle);
      known.set(handle, did);
    }

    return did;
  };
}
