/** Why an attempt to deliver failed. Coarse: it tells a receiver's owner where to look and nothing of our inside. */
export const deliveryErrors = [
  'blocked_destination',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'timeout',
  'tls_error',
  'invalid_response',
  'redirect',
  'http_error',
  // Nothing was sent: the endpoint is disabled.
  'endpoint_disabled',
  // Workers of ours died over it, or could not write down what came of it.
  'interrupted',
] as const;
export type DeliveryError = (typeof deliveryErrors)[number];

/** Only 2xx is a delivery. A redirect is not followed: it would carry body and signature elsewhere. */
export function errorOfStatus(status: number): DeliveryError | null {
  if (status >= 200 && status <= 299) {
    return null;
  }

  return status >= 300 && status <= 399 ? 'redirect' : 'http_error';
}
