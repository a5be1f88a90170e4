// Runs in the browser. The API key that is typed in stays in this page's memory and is gone after a reload.
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // Otherwise the address of the document would be sent to a public validator.
  validatorUrl: null,
});
