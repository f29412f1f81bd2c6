export const playground = {}
