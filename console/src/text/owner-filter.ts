/** Texts of the filter by owner. */
export const ownerFilter = {
  label: 'Owner',
  search: 'Search name or email',
  none: 'Nobody has that name or email.',
  anyone: 'Any owner',
  clear: 'Clear the owner',
  unknown: 'somebody else',
}
