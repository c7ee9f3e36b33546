export { default } from './Workflows.svelte';
