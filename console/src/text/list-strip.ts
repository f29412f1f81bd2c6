/** Texts of what the organization runs now, above the list of deployments. */
export const listStrip = {
  running: (count: string) => `${count} running`,
  perHour: (price: string) => `${price}/hour now`,
  period: (cost: string) => `${cost} this period`,
  periodWords: (from: string, to: string) => `${from} to ${to}`,
  limit: (deployments: number, instances: string, limit: string) =>
    `${deployments === 1 ? '1 deployment' : `${deployments} deployments`}, up to ${instances} of ${limit} instances`,
  noLimit: (deployments: number, instances: number) =>
    `${deployments === 1 ? '1 deployment' : `${deployments} deployments`}, up to ${instances === 1 ? '1 instance' : `${instances} instances`}`,
}
