export const errors = {
  offline: 'The server is not responding. Check your connection and try again.',
  unexpected: (status: number) =>
    status === 0 ? 'Something went wrong on this page.' : `The server returned an error (${status}).`,
  requestId: (id: string) => `Request ${id}`,
  retryAfter: (when: string) => `Try again ${when}.`,
  notFoundTitle: 'Page not found',
  notFound: 'The address may be wrong, or the page was removed.',
  toDeployments: 'Go to deployments',
}
