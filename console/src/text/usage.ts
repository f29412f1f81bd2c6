export const usage = {}
