/**
 * Purposes bind a sealed secret to its row, so that it cannot be opened as another row's. Stored data depends on them.
 */
export const credentialsPurpose = (channelId: string): string => `channel/${channelId}/credentials`;
export const sessionPurpose = (channelId: string): string => `channel/${channelId}/session`;
/** @param key Key of the part whose files are uploaded. */
export const uploadsPurpose = (key: string): string => `part/${key}/uploads`;
export const signingSecretPurpose = (endpointId: string): string => `webhook/${endpointId}/secret`;
export const grantPurpose = (channelId: string): string => `channel/${channelId}/grant`;
export const connectFlowPurpose = (linkId: string): string => `connect-link/${linkId}/flow`;
export const oauthAppPurpose = (platform: string, baseUrl: string): string =>
  `oauth-app/${platform}/${baseUrl}/secret`;
export const answerPurpose = (workspaceId: string, key: string): string =>
  `workspace/${workspaceId}/idempotency/${key}/answer`;
