export const deployments = {}
