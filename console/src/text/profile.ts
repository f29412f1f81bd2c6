export const profile = {}
