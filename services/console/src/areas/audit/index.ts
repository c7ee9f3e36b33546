export { default } from './Audit.svelte';
