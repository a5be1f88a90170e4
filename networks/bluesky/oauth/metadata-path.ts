/** Below the public URL. The address of the document is our client id, so it never changes. */
export const metadataPath = '/connect/bluesky/client-metadata.json';
