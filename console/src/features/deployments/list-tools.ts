/** What the list of deployments loads after its first view, in one file */
export { BulkBar } from './bulk/bulk-bar.tsx'
export { SelectAll, SelectBox } from './bulk/select-box.tsx'
export { ListFilters } from './list-filters.tsx'
export { ListStrip } from './list-strip.tsx'
export { RecentRequests } from './recent-requests.tsx'
