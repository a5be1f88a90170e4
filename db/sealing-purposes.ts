/** What a secret was sealed for: one row's secret cannot be opened as another's. Stored data depends on these. */
export const credentialsPurpose = (channelId: string): string => `channel/${channelId}/credentials`;
export const sessionPurpose = (channelId: string): string => `channel/${channelId}/session`;
/** @param key Of the part whose files are uploaded. */
export const uploadsPurpose = (key: string): string => `part/${key}/uploads`;
export const signingSecretPurpose = (endpointId: string): string => `webhook/${endpointId}/secret`;
export const grantPurpose = (channelId: string): string => `channel/${channelId}/grant`;
export const connectFlowPurpose = (linkId: string): string => `connect-link/${linkId}/flow`;
export const oauthAppPurpose = (platform: string, baseUrl: string): string =>
  `oauth-app/${platform}/${baseUrl}/secret`;
