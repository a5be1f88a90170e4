/** Path below the public URL. The document's URL is our client id, so it must never change. */
export const metadataPath = '/connect/bluesky/client-metadata.json';
