export { default } from './Search.svelte';
