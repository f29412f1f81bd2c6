export const errors = {
  offline: 'The server does not answer. Check your connection and try again.',
  unexpected: (status: number) =>
    status === 0 ? 'Something went wrong in this page.' : `The server answered with an error (${status}).`,
  requestId: (id: string) => `Request ${id}`,
  retryAfter: (when: string) => `The next try is possible ${when}.`,
  notFoundTitle: 'There is nothing here',
  notFound: 'The address may be mistyped, or what was here is gone.',
  toDeployments: 'To your deployments',
}
