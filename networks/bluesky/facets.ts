import { AppBskyRichtextFacet, RichText, type Facet } from '@atproto/api';
import type { ResolveHandle } from './resolve-handle.ts';

type Feature = Facet['features'][number];

/**
 * The links, mentions and tags of a text, with byte offsets into it.
 *
 * A mention whose handle does not resolve stays plain text, and so does a link that is no URL: the server would refuse
 * the whole post for it.
 *
 * @throws What `didOf` throws.
 */
export async function facetsOf(text: string, didOf: ResolveHandle): Promise<Facet[]> {
  const richText = new RichText({ text });
  richText.detectFacetsWithoutResolution();
  const facets: Facet[] = [];
  for (const { index, features } of richText.facets ?? []) {
    const settled = [];
    for (const feature of features) {
      settled.push(await settle(feature, didOf));
    }

    const kept = settled.filter((feature) => feature !== null);
    if (kept.length > 0) {
      facets.push({ index, features: kept });
    }
  }

  return facets;
}

async function settle(feature: Feature, didOf: ResolveHandle): Promise<Feature | null> {
  if (AppBskyRichtextFacet.isMention(feature)) {
    // The detection leaves the handle where the DID belongs.
    const did = await didOf(feature.did);
    return did === null ? null : { ...feature, did };
  }

  return AppBskyRichtextFacet.isLink(feature) && !URL.canParse(feature.uri) ? null : feature;
}
