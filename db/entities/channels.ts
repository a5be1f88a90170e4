import { defineEntity, p } from '@mikro-orm/core';
import type { Json } from '../../domain/json-schema.ts';
import type { Options } from '../../networks/content-rules.ts';
import { createdAt, id, instant, jsonOrNull, updatedAt } from './columns.ts';
import { Workspace } from './workspaces.ts';

export const ChannelSchema = defineEntity({
  name: 'Channel',
  tableName: 'channels',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** Text, not an enum: a new network needs no migration. */
    platform: p.text(),
    handle: p.text(),
    displayName: p.text().strictNullable(),
    /** A name from the operator, shown instead of the network's. */
    givenName: p.text().strictNullable(),
    /** The account's permanent id on the network. */
    remoteId: p.text(),
    baseUrl: p.text(),
    sealedCredentials: p.text(),
    sealedSession: p.text().strictNullable(),
    state: p.text().$type<'connected' | 'needs_reconnect'>().default('connected'),
    /** Why it needs reconnecting, for its owner. */
    error: p.text().strictNullable(),
    /** End of the network's rate limit for this channel. No attempt starts before it. */
    parkedUntil: instant().strictNullable(),
    /** Last start of an overdue post, from which the next keeps its distance. By the database's clock. */
    lastLateSendAt: instant().strictNullable(),
    /** Settings of the account, including the limits of its server and the time they were requested. */
    settings: p.json<Json>(),
    /** Default options of its posts, in the shape of its network's rules. */
    options: jsonOrNull<Options>(),
    /** The row stays without secrets for its posts; connecting the account again restores it. */
    disconnectedAt: instant().strictNullable(),
    followers: p.integer().strictNullable(),
    followersUpdatedAt: instant().strictNullable(),
    /** Time of the last `POST /channels/{id}/check`. */
    checkedAt: instant().strictNullable(),
    /** Result of that check; null while the first is running. */
    checkAnswer: jsonOrNull<Json>(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
});

export class Channel extends ChannelSchema.class {}
ChannelSchema.setClass(Channel);

export const ChannelGrantSchema = defineEntity({
  name: 'ChannelGrant',
  tableName: 'channel_grants',
  properties: {
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id').primary(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    sealedGrant: p.text(),
    /** End of the access token, if the network says it. */
    accessEndsAt: instant().strictNullable(),
    /** Time by which a person has to authorize again, if the network says it. */
    endsAt: instant().strictNullable(),
    /** Value of `endsAt` that the owner was warned of with `channel.at_risk`; null after it was extended. */
    warnedOf: instant().strictNullable(),
    /** Time since which refreshes get no response; null while they work. */
    failingSince: instant().strictNullable(),
    refreshedAt: instant().strictNullable(),
    /** End of the refresh lease. Its holder renews it, so that a dead process is noticed soon. */
    refreshingUntil: instant().strictNullable(),
    /** Id of the lease's holder; without meaning after the lease. */
    refreshingBy: p.uuid().strictNullable(),
    createdAt: createdAt(),
  },
});

/** Separate from the channel, so that refreshes and posts do not wait for each other's locks. */
export class ChannelGrant extends ChannelGrantSchema.class {}
ChannelGrantSchema.setClass(ChannelGrant);

/**
 * `authorizing`: a browser is at the network. `redeeming`: its response is being redeemed, once. `choosing`: the person
 * has to choose one of several accounts. `connected`, `failed`: the link is used up.
 */
export type ConnectStatus =
  | 'open'
  | 'authorizing'
  | 'redeeming'
  | 'choosing'
  | 'connected'
  | 'failed';

export const ConnectLinkSchema = defineEntity({
  name: 'ConnectLink',
  tableName: 'connect_links',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    platform: p.text(),
    /** SHA-256 of the secret in the link, in hex. */
    tokenHash: p.text(),
    /** The channel whose account has to be connected; null for any account. The link is deleted with the channel. */
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id').strictNullable(),
    /** Values that the caller provided: a server, a handle. */
    values: p.json<Readonly<Record<string, string>>>(),
    atSandbox: p.boolean(),
    returnUrl: p.text().strictNullable(),
    status: p.text().$type<ConnectStatus>(),
    /** SHA-256 of the `state` that the network's response must carry, in hex. */
    stateHash: p.text().strictNullable(),
    /** SHA-256 of the cookie of the browser that went to the network, in hex. */
    browserHash: p.text().strictNullable(),
    redirectUri: p.text().strictNullable(),
    /** Data for the next step: the code verifier, or the grant with its accounts while a person chooses. */
    sealedFlow: p.text().strictNullable(),
    connectedId: () => p.manyToOne(Channel).mapToPk().name('connected_id').strictNullable(),
    /** Why the link or the last attempt failed, for the person. */
    error: p.text().strictNullable(),
    errorCode: p.text().strictNullable(),
    /** Number of tries; a refused secret counts twice. */
    refusedSecrets: p.integer().default(0),
    expiresAt: instant(),
    createdAt: createdAt(),
  },
});

export class ConnectLink extends ConnectLinkSchema.class {}
ConnectLinkSchema.setClass(ConnectLink);

/** This service as an OAuth client at a server, registered for its first account. Shared by all workspaces. */
export const OauthAppSchema = defineEntity({
  name: 'OauthApp',
  tableName: 'oauth_apps',
  properties: {
    platform: p.text().primary(),
    baseUrl: p.text().primary(),
    /** Part of the registration; another public URL needs another registration. */
    redirectUri: p.text().primary(),
    clientId: p.text(),
    sealedSecret: p.text(),
    createdAt: createdAt(),
  },
});
