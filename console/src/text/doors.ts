export const doors = {}
