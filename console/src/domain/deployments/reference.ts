/** The parameters of a request below a deployment's id, which may be a colleague's. */
export const toInput = (id: string) =>
  ({ path: { deployment_id: id }, query: { scope: 'organization' } }) as const
